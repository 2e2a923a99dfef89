import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// `npm run dev` shows the page of this folder with the answers of a server that runs already (dragoman serve BUNDLE).
const server = process.env.DRAGOMAN_SERVER ?? 'http://127.0.0.1:5000';
const paths = ['/v1', '/frontend', '/translate_file', '/download_file'];
const built = join(import.meta.dirname, '../src/dragoman/server/static');

// The server sends files as they lie there; what a browser takes compressed lies beside them.
const packed: Plugin = {
  name: 'packed',
  apply: 'build',
  closeBundle() {
    for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(js|css|html|svg)$/.test(name)) continue;
      const data = readFileSync(join(built, name));
      writeFileSync(join(built, `${name}.gz`), gzipSync(data, { level: 9 }));
      writeFileSync(join(built, `${name}.br`), brotliCompressSync(data));
    }
  },
};

export default defineConfig({
  base: './',
  plugins: [svelte(), packed],
  build: {
    outDir: built,
    emptyOutDir: true,
    // A data: address is not 'self': what is linked stays a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  server: { proxy: Object.fromEntries(paths.map(path => [path, { target: server, changeOrigin: true }])) },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
