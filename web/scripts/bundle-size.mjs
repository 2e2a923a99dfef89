// Fails if the scripts of the served page, compressed, exceed a limit for slow connections.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const MAX_BYTES = 60_000;
const folder = new URL('../../src/dragoman/server/static/assets/', import.meta.url);
const names = readdirSync(folder).filter(name => /\.(js|css)$/.test(name));
const sizes = names.map(name => [name, gzipSync(readFileSync(new URL(name, folder))).length]);
for (const [name, bytes] of sizes) console.log(`${name}: ${bytes} bytes compressed`);
const scripts = sizes.filter(([name]) => name.endsWith('.js')).reduce((sum, [, bytes]) => sum + bytes, 0);
if (!scripts || scripts > MAX_BYTES) {
  console.error(`scripts must have 1 to ${MAX_BYTES} bytes compressed, got ${scripts}; import less or load it later`);
  process.exit(1);
}
