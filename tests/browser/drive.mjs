// Opens pages in Chromium for tests/browser/chromium.py: one job per line on stdin, one answer per line on stdout.
//
// A job: {url, width, height, dark, scripting, touch, language, steps}. `steps` is the body of an async function of
// Playwright's `page` and of `accessibility`, which gives what axe has against a page; what it returns is `result`. A file
// reaches no network, a page of a server only that server; what else was asked for is in `requests`.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--force-color-profile=srgb', '--hide-scrollbars',
];
const AsyncFunction = (async () => {}).constructor;

// One line for each thing that is wrong.
async function accessibility(page) {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate(() => axe.run());
  return violations.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 200)}`));
}

async function answer(browser, job) {
  const seen = { requests: [], complaints: [] };
  const { origin, protocol } = new URL(job.url);
  const isServed = protocol === 'http:';
  const context = await browser.newContext({
    viewport: { width: job.width, height: job.height },
    colorScheme: job.dark ? 'dark' : 'light',
    javaScriptEnabled: job.scripting,
    hasTouch: job.touch,
    locale: job.language,
    reducedMotion: 'reduce',
    offline: !isServed,
  });
  try {
    const isOurs = address => (isServed ? address.origin === origin : address.href === job.url);
    await context.route(address => !isOurs(address), route => {
      seen.requests.push(route.request().url());
      return route.abort();
    });
    const page = await context.newPage();
    page.setDefaultTimeout(60000); // for a busy machine
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type())) seen.complaints.push(message.text());
    });
    page.on('pageerror', error => seen.complaints.push(String(error)));
    page.on('dialog', dialog => {
      seen.complaints.push(`dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    const began = performance.now();
    await page.goto(job.url, { waitUntil: 'load' });
    seen.milliseconds = performance.now() - began;
    seen.result = (await new AsyncFunction('page', 'accessibility', job.steps)(page, accessibility)) ?? null;
  } catch (error) {
    seen.failure = String(error.stack ?? error);
  } finally {
    await context.close();
  }
  return seen;
}

const browser = await chromium.launch({ executablePath: process.argv[2], headless: true, args: FLAGS });
console.log(JSON.stringify({ version: browser.version() }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(browser, JSON.parse(line))));
}
await browser.close();
