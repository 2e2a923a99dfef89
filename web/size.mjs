// Fails where the page became too large for a slow phone: all scripts together, compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const MOST = 60_000;
const folder = new URL('../src/dragoman/server/static/assets/', import.meta.url);
const names = readdirSync(folder).filter(name => /\.(js|css)$/.test(name));
const sizes = names.map(name => [name, gzipSync(readFileSync(new URL(name, folder))).length]);
for (const [name, bytes] of sizes) console.log(`${name}: ${bytes} bytes compressed`);
const scripts = sizes.filter(([name]) => name.endsWith('.js')).reduce((sum, [, bytes]) => sum + bytes, 0);
if (!scripts || scripts > MOST) {
  console.error(`scripts must have 1 to ${MOST} bytes compressed, got ${scripts}; load less, or later`);
  process.exit(1);
}
