//go:build tools

// Package tools names the program that is built from the modules of go.mod.
package tools

import _ "github.com/jaegertracing/jaeger/cmd/jaeger"
