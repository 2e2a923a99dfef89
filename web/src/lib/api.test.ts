import { expect, it } from 'vitest';
import { ownAddress } from './api';

it('fetches documents from where the page is', () => {
  expect(ownAddress('http://inside:5000/download_file/a%20b.txt')).toBe('download_file/a%20b.txt');
  expect(ownAddress('elsewhere/x.txt')).toBe('elsewhere/x.txt');
});
