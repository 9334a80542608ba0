"""Looks at pages of a built site in Chromium without a window: what is wider than the page, which pictures are broken."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LONGEST = 280  # [s] for all pages, on a busy machine

# Each page is opened in a frame of the width that is asked for; what is wrong with it becomes a line of text.
PROGRAM = """<!doctype html><body><pre id="seen"></pre><script>
const pages = PAGES, seen = document.getElementById("seen"), width = WIDTH;
function faultsOf(page, d) {
  const root = d.scrollingElement, faults = [];
  if (root.scrollWidth > root.clientWidth + 1) faults.push(`is ${root.scrollWidth} wide`);
  const broken = [...d.images].filter(image => image.complete && !image.naturalWidth);
  faults.push(...broken.map(image => "lacks " + image.getAttribute("src")));
  if (!d.querySelector("h1")) faults.push("is empty");
  return faults.map(fault => `${page} ${fault}\\n`).join("");
}
async function look(page) {
  return new Promise(done => {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 800px; border: 0`;
    const end = text => { frame.remove(); done(text); };
    frame.onload = () => setTimeout(() => end(faultsOf(page, frame.contentDocument)), 100);
    frame.src = page;
    document.body.appendChild(frame);
  });
}
(async () => {
  for (const page of pages) seen.textContent += await look(page);
  seen.textContent += `looked at ${pages.length} pages`;
})();
</script></body>"""


def faults_in_browser(folder: Path, width: int) -> list[str]:
    """Lines that name a page and what is wrong with it at this width [px of the style sheet]."""
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html") if path.name != "404.html")
    start = folder / "_look.html"
    start.write_text(PROGRAM.replace("PAGES", json.dumps(pages)).replace("WIDTH", str(width)), encoding="utf-8")
    try:
        done = subprocess.run(
            [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             f"--window-size={width + 100},900", "--virtual-time-budget=900000", "--dump-dom", start.as_uri()],
            capture_output=True, text=True, encoding="utf-8", timeout=LONGEST, check=True,
        )  # fmt: skip
    finally:
        start.unlink()
    lines = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", done.stdout, re.DOTALL)[1]).splitlines()
    assert lines[-1] == f"looked at {len(pages)} pages", lines
    return lines[:-1]
