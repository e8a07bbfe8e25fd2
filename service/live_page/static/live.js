"use strict";
// Puts new rows on top of the list, and says on the page of a run that it was revised. Without it nothing is missing
// but the liveness. The server renders and escapes every row.
(() => {
  const MAX_ROWS = 200;

  function follow(address, onRuns, onState) {
    const source = new EventSource(address);
    let wasLost = false;
    source.addEventListener("open", () => { onState(true, wasLost); wasLost = false; });
    source.addEventListener("error", () => { onState(false, false); wasLost = true; });
    source.addEventListener("runs", (event) => onRuns(JSON.parse(event.data)));
    addEventListener("pagehide", () => source.close());
  }

  function rowsOf(html) {
    const page = new DOMParser().parseFromString(`<table><tbody>${html}</tbody></table>`, "text/html");
    return [...page.querySelectorAll("tr")];
  }

  function putOnTop(body, html) {
    for (const row of rowsOf(html)) {
      const old = [...body.rows].find((each) => each.dataset.token === row.dataset.token);
      if (old) {
        const hadFocus = old.contains(document.activeElement);
        old.remove();
        body.prepend(row);
        if (hadFocus) row.querySelector("a").focus({ preventScroll: true });
      } else {
        body.prepend(row);
      }
      row.classList.add("new");
    }
    while (body.rows.length > MAX_ROWS) body.rows[body.rows.length - 1].remove();
    document.getElementById("empty")?.remove();
  }

  async function reload(body) {
    const response = await fetch(location.href);
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    body.replaceChildren(...page.querySelectorAll("#rows > tr"));
  }

  function followList(live) {
    const body = document.getElementById("rows");
    const state = document.getElementById("live-state");
    const pause = document.getElementById("pause");
    let isPaused = false;
    let waiting = [];
    const show = () => {
      state.textContent = isPaused ? `paused, ${waiting.length} waiting` : "live";
      live.classList.toggle("on", !isPaused);
    };
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      pause.textContent = isPaused ? "Resume" : "Pause";
      if (!isPaused) {
        for (const run of waiting) putOnTop(body, run.html);
        waiting = [];
      }
      show();
    });
    live.hidden = false;
    follow(live.dataset.events, (runs) => {
      if (isPaused) waiting = [...waiting, ...runs].slice(-MAX_ROWS);
      else for (const run of runs) putOnTop(body, run.html);
      if (isPaused) show();
    }, (isOpen, wasLost) => {
      if (isOpen) show();
      else { state.textContent = "not connected"; live.classList.remove("on"); }
      if (isOpen && wasLost && !isPaused) reload(body);
    });
  }

  function followRun(revised) {
    follow(revised.dataset.events, (runs) => {
      if (runs.some((run) => run.token === revised.dataset.token)) revised.hidden = false;
    }, () => {});
  }

  const live = document.getElementById("live");
  if (live && live.dataset.first === "yes") followList(live);
  const revised = document.getElementById("revised");
  if (revised) followRun(revised);
})();
