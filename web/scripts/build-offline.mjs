// Builds the scripts and styles of the offline pages: one self-contained script and one stylesheet per page, which
// Python inlines. They are committed, so that `dragoman inspect` works in a clone without Node.
//
//   node scripts/build-offline.mjs           writes them to src/dragoman/reporting/assets
//   node scripts/build-offline.mjs --check   fails if the committed files differ from a new build
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'vite';

const PAGES = ['alignment', 'inspection'];
const MAX_BYTES = 40_000;
const root = resolve(import.meta.dirname, '..');
const committed = resolve(root, '../src/dragoman/reporting/assets');
const isCheck = process.argv.includes('--check');
const folder = isCheck ? mkdtempSync(join(tmpdir(), 'dragoman-offline-')) : committed;

async function buildPage(page) {
  const banner = `/* Built from web/src/${page} by "npm run build:offline". Do not edit. */`;
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: 'es2022',
      lib: {
        entry: join(root, 'src', page, 'main.ts'),
        formats: ['iife'],
        name: 'dragoman',
        fileName: () => `${page}.js`,
        cssFileName: page,
      },
      rolldownOptions: { output: { postBanner: banner } },
    },
  });
}

/** Problems of one built file, as messages. */
function problems(name) {
  const text = readFileSync(join(folder, name), 'utf8');
  const found = [];
  if (/<\/(script|style)|<!--/i.test(text)) found.push(`${name} must not contain </script>, </style> or <!--`);
  if (text.length > MAX_BYTES) found.push(`${name} must have at most ${MAX_BYTES} bytes, got ${text.length}`);
  if (isCheck && text !== read(join(committed, name))) {
    found.push(`${name} in src/dragoman/reporting/assets is outdated; run "npm run build:offline"`);
  }
  return found;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

try {
  for (const page of PAGES) await buildPage(page);
  const found = PAGES.flatMap(page => [`${page}.js`, `${page}.css`]).flatMap(problems);
  for (const message of found) console.error(message);
  if (found.length) process.exitCode = 1;
} finally {
  if (isCheck) rmSync(folder, { recursive: true });
}
