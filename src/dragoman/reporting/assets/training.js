// Load the report again every few seconds while training runs; opened details stay open.
(() => {
  const INTERVAL = 5000; // milliseconds
  const KEY = `open ${location.pathname}`;
  for (const each of document.querySelectorAll('details')) {
    each.open = JSON.parse(sessionStorage.getItem(KEY) ?? '{}')[each.id] ?? each.open;
  }
  if (document.getElementById('report').dataset.state !== 'running') return;
  setTimeout(() => {
    const open = [...document.querySelectorAll('details')].map(each => [each.id, each.open]);
    sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(open)));
    location.reload();
  }, INTERVAL);
})();
