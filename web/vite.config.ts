import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// `npm run dev` serves this folder and forwards API requests to a running server (dragoman serve BUNDLE).
const server = process.env.DRAGOMAN_SERVER ?? 'http://127.0.0.1:5000';
const apiPaths = ['/v1', '/frontend', '/translate_file', '/download_file'];
const outDir = join(import.meta.dirname, '../src/dragoman/server/static');

// The server does not compress files itself: it sends the .gz or .br file next to the original.
const compress: Plugin = {
  name: 'compress',
  apply: 'build',
  closeBundle() {
    for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(js|css|html|svg)$/.test(name)) continue;
      const data = readFileSync(join(outDir, name));
      writeFileSync(join(outDir, `${name}.gz`), gzipSync(data, { level: 9 }));
      writeFileSync(join(outDir, `${name}.br`), brotliCompressSync(data));
    }
  },
};

export default defineConfig({
  base: './',
  plugins: [svelte(), compress],
  build: {
    outDir,
    emptyOutDir: true,
    license: { fileName: 'licenses.txt' },
    // The content security policy allows 'self' only, which data: URLs are not.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  server: { proxy: Object.fromEntries(apiPaths.map(path => [path, { target: server, changeOrigin: true }])) },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
