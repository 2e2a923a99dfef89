import { expect, it } from 'vitest';
import { relativeDownloadUrl } from './api';

it('downloads documents from the origin of the page', () => {
  expect(relativeDownloadUrl('http://inside:5000/download_file/a%20b.txt')).toBe('download_file/a%20b.txt');
  expect(relativeDownloadUrl('elsewhere/x.txt')).toBe('elsewhere/x.txt');
});
