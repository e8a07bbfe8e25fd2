#!/bin/sh
# Makes the certificates of the TLS tests anew: two authorities, a server and a client of the first, a renewed server
# certificate, and a server of a name that is not localhost. They are worth nothing outside of these tests.
set -eu
cd "$(dirname "$0")"

authority() { # file, name
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=$2" \
        -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

certificate() { # file, authority, common name, subject alternative name
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$3" -keyout "$1.key" \
        -out request.csr 2>/dev/null
    printf 'subjectAltName=%s\n' "$4" >extensions
    openssl x509 -req -in request.csr -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 36500 -extfile extensions \
        -out "$1.pem" 2>/dev/null
}

authority ca "toolscore test authority"
authority other-ca "another test authority"
certificate server ca localhost "DNS:localhost,IP:127.0.0.1"
certificate renewed ca localhost-renewed "DNS:localhost,IP:127.0.0.1"
certificate elsewhere ca collector.example "DNS:collector.example"
certificate client ca client "DNS:client"
certificate other-client other-ca client "DNS:client"
rm -f request.csr extensions ./*.srl ca.key other-ca.key
