// Converts pages as the usual JavaScript tools do, one JSON line in, one out.
// The time is that of parsing, extraction and rendering in a warm process.
const { createRequire } = require('module');
const fs = require('fs');
const load = createRequire(process.cwd() + '/.peers/package.json');
const { Readability } = load('@mozilla/readability');
const Turndown = load('turndown');
const { gfm } = load('turndown-plugin-gfm');
const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced' });
turndown.use(gfm);
const kind = process.argv[2];
const parse = kind === 'linkedom'
  ? (html) => load('linkedom').parseHTML(html).document
  : (html, url) => {
    const { JSDOM, VirtualConsole } = load('jsdom');
    return new JSDOM(html, { url, virtualConsole: new VirtualConsole() }).window.document;
  };
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const job = JSON.parse(line);
  const html = fs.readFileSync(job.file, 'utf8');
  const start = process.hrtime.bigint();
  let content = '', markdown = '';
  if (job.fragment) {
    markdown = turndown.turndown(html);
  } else {
    const article = new Readability(parse(html, job.url)).parse();
    content = article ? article.content : '';
    const extracted = process.hrtime.bigint();
    markdown = content && !job.extract ? turndown.turndown(content) : '';
    if (job.extract) {
      console.log(JSON.stringify({ ns: Number(extracted - start), html: content }));
      return;
    }
  }
  console.log(JSON.stringify({ ns: Number(process.hrtime.bigint() - start), markdown }));
});
