"""What pages of attention maps do: a chosen word lights up the words it is linked to, here and in the map."""

__all__ = ["SCRIPT"]

SCRIPT = """
'use strict';
for (const sample of document.querySelectorAll('.sample')) {
  const rows = sample.dataset.weights ? sample.dataset.weights.split(';') : [];
  const weights = rows.map(row => row.split(',').map(Number));
  const words = side => [...sample.querySelectorAll(`.word[data-side=${side}]`)];
  const sides = { source: words('source'), target: words('target') };
  const says = sample.querySelector('.says');
  const link = (side, one, other) => {
    if (!weights.length) return 0;
    return side === 'target' ? weights[one][other] : weights[other][one];
  };

  const clear = () => {
    for (const word of [...sides.source, ...sides.target]) {
      word.classList.remove('chosen');
      word.style.removeProperty('--weight');
    }
    for (const label of sample.querySelectorAll('.map .lit')) label.classList.remove('lit');
    for (const band of sample.querySelectorAll('.map .band')) band.style.display = 'none';
    says.textContent = '';
  };

  const lightMap = (side, number) => {
    const label = sample.querySelector(`.map text.${side}[data-word="${number}"]`);
    if (!label) return;
    label.classList.add('lit');
    const band = sample.querySelector(`.map .band.${side === 'target' ? 'row' : 'column'}`);
    const ground = sample.querySelector('.map .ground');
    const size = Number(band.getAttribute(side === 'target' ? 'height' : 'width'));
    const along = side === 'target' ? 'y' : 'x';
    band.setAttribute(along, Number(ground.getAttribute(along)) + number * size);
    band.style.display = 'inline';
  };

  const choose = word => {
    clear();
    const side = word.dataset.side;
    const number = Number(word.dataset.word);
    const other = side === 'target' ? 'source' : 'target';
    word.classList.add('chosen');
    lightMap(side, number);
    const links = sides[other].map((linked, place) => ({ linked, weight: link(side, number, place) }));
    for (const { linked, weight } of links) linked.style.setProperty('--weight', Math.min(0.85, weight).toFixed(3));
    const most = links.filter(each => each.weight >= 0.05).sort((a, b) => b.weight - a.weight).slice(0, 5);
    const named = most.map(each => `${each.linked.textContent.trim() || 'a space'} ${Math.round(100 * each.weight)} %`);
    const what = word.textContent.trim() || 'a space';
    if (!named.length) says.textContent = `${what} is linked to nothing in particular`;
    else says.textContent = `${what} ${side === 'target' ? 'looks at' : 'is looked at by'} ${named.join(', ')}`;
  };

  for (const row of Object.values(sides)) {
    row.forEach((word, place) => {
      word.tabIndex = place ? -1 : 0;
      word.addEventListener('pointerenter', () => choose(word));
      word.addEventListener('focus', () => choose(word));
      word.addEventListener('keydown', event => {
        const forward = getComputedStyle(word.parentElement).direction === 'rtl' ? -1 : 1;
        const steps = { ArrowLeft: -forward, ArrowRight: forward, Home: -place, End: row.length - 1 - place };
        if (!(event.key in steps)) return;
        const next = row[Math.max(0, Math.min(row.length - 1, place + steps[event.key]))];
        word.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
        event.preventDefault();
      });
    });
  }
  sample.addEventListener('pointerleave', () => {
    if (!sample.contains(document.activeElement)) clear();
  });
  sample.addEventListener('focusout', event => {
    if (!sample.contains(event.relatedTarget)) clear();
  });
}
"""
