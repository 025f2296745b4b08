// Live pages: when the process says that something changed, the page is asked for again and its parts are replaced.
// Without this script every page is whole; it only has to be loaded again by hand.
"use strict";
(() => {
  const main = document.querySelector("main[data-live]");
  if (!main || !window.EventSource) return;
  const sign = document.querySelector(".live");
  const stream = new EventSource(main.dataset.live);
  let asking = false;
  let again = false;

  const tell = (words, away) => {
    if (!sign) return;
    sign.hidden = false;
    sign.classList.toggle("away", away);
    if (sign.textContent !== words) sign.textContent = words;
  };

  // How something with the focus is found again in a part that took the place of its own.
  const nameOf = (one) => {
    if (one.matches("summary")) return `#${CSS.escape(one.parentElement.id)} > summary`;
    if (one.id) return `#${CSS.escape(one.id)}`;
    return one.matches("a[href]") ? `a[href="${CSS.escape(one.getAttribute("href"))}"]` : "";
  };

  // What somebody opened or closed stays so, and the focus stays where it is.
  const put = (old, fresh) => {
    const open = new Map([...old.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
    for (const one of fresh.querySelectorAll("details[id]")) {
      if (open.has(one.id)) one.open = open.get(one.id);
    }
    if (old.outerHTML === fresh.outerHTML) return;
    const name = old.contains(document.activeElement) ? nameOf(document.activeElement) : "";
    old.replaceWith(document.adoptNode(fresh));
    if (name) fresh.querySelector(name)?.focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    do {
      again = false;
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html" } });
        if (answer.ok) {
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          for (const old of main.querySelectorAll("[data-part]")) {
            const fresh = page.getElementById(old.id);
            if (fresh) put(old, fresh);
          }
        }
      } catch {
        // The next event asks again.
      }
    } while (again);
    asking = false;
  };

  stream.onopen = () => tell("live", false);
  stream.onerror = () => tell(stream.readyState === EventSource.CLOSED ? "not live" : "not live; trying again", true);
  stream.addEventListener("changed", refresh);
  stream.addEventListener("end", () => {
    stream.close();
    tell("ended", true);
    refresh();
  });
  addEventListener("pagehide", () => stream.close());
})();
