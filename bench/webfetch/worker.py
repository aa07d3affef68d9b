"""Converts pages with readability-lxml and html2text, one JSON line in, one out."""
import json, sys, time
import html2text
from readability import Document

for line in sys.stdin:
    job = json.loads(line)
    with open(job["file"], encoding="utf-8", errors="replace") as f:
        html = f.read()
    start = time.perf_counter_ns()
    try:
        markdown = html2text.html2text(Document(html).summary())
    except Exception:
        markdown = ""
    print(json.dumps({"ns": time.perf_counter_ns() - start, "markdown": markdown}), flush=True)
