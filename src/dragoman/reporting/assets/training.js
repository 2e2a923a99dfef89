// Replace the report every few seconds while training runs. A page opened from disk stays as it is.
(() => {
  const INTERVAL = 2000; // milliseconds
  const report = () => document.getElementById('report');
  const isRunning = () => report().dataset.state === 'running';

  function replace(fresh) {
    const isOpen = new Map([...document.querySelectorAll('details')].map(each => [each.id, each.open]));
    for (const each of fresh.querySelectorAll('details')) each.open = isOpen.get(each.id) ?? each.open;
    const focused = document.activeElement?.closest('details')?.id;
    const scrolled = [...document.querySelectorAll('.scroll')].map(each => each.scrollLeft);
    document.title = fresh.title;
    report().replaceWith(document.adoptNode(fresh.getElementById('report')));
    document.querySelectorAll('.scroll').forEach((each, index) => (each.scrollLeft = scrolled[index] ?? 0));
    if (focused) document.querySelector(`#${focused} summary`)?.focus({ preventScroll: true });
  }

  async function refresh() {
    let isReached = true;
    try {
      const response = await fetch(location.href, { cache: 'no-store' });
      isReached = response.ok;
      if (isReached) replace(new DOMParser().parseFromString(await response.text(), 'text/html'));
    } catch {
      isReached = false;
    }
    document.getElementById('offline').hidden = isReached;
    if (isRunning()) setTimeout(refresh, INTERVAL);
  }

  if (location.protocol.startsWith('http') && isRunning()) setTimeout(refresh, INTERVAL);
})();
