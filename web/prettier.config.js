export default {
  tabWidth: 2,
  printWidth: 120,
  singleQuote: true,
  arrowParens: 'avoid',
  plugins: ['prettier-plugin-svelte'],
  overrides: [{ files: '*.svelte', options: { parser: 'svelte' } }],
};
