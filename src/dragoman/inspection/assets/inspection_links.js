// The same weights as links: the source at the left, the translation at the right, both from top to bottom, and between
// them curves as wide as the weight.

const FAINT_LINK = 0.04;

function linkSizes(one, rows, room) {
  const widest = Math.max(60, Math.min(120, room * 0.3));
  const source = labelsOf(one, 'source').map(word => cut(word, widest));
  const target = labelsOf(one, 'target').slice(0, rows).map(word => cut(word, widest));
  const left = Math.max(...source.map(widthOf)) + GAP;
  const right = Math.max(...target.map(widthOf), 20) + GAP;
  const between = Math.max(90, Math.min(200, room - left - right - 2 * GAP));
  const height = Math.max(source.length, target.length) * CELL;
  const y = (side, number) => (number + 0.5) * height / (side === 'source' ? source.length : target.length);
  return { source, target, left, right, between, height, y, width: left + between + right + 2 * GAP };
}

function linkLabel(one, size, side, text, number) {
  const isSource = side === 'source';
  return draw('text', {
    class: side, 'data-side': side, 'data-word': number, y: size.y(side, number) + 4.5,
    x: isSource ? size.left : size.left + size.between + 2 * GAP, 
    ...(isSource ? anchored('end', one.sourceDirection) : anchored('start', one.targetDirection)),
  }, text);
}

function linkCurve(size, row, column, weight) {
  const [x1, x2] = [size.left + GAP, size.left + size.between + GAP];
  const [y1, y2] = [size.y('source', column), size.y('target', row)];
  const middle = (x1 + x2) / 2;
  return draw('path', {
    class: 'link', 'data-row': row, 'data-column': column, 'stroke-width': (8 * weight).toFixed(2),
    d: `M${x1} ${y1.toFixed(1)}C${middle} ${y1.toFixed(1)} ${middle} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}`,
  });
}

function linksPicture(one, room) {
  const weights = shownWeights();
  const size = linkSizes(one, weights.length, room);
  const curves = weights.flatMap((row, number) => [...row].flatMap(
    (weight, column) => (weight < FAINT_LINK ? [] : [linkCurve(size, number, column, weight)])));
  return draw('svg', {
    class: 'map links', role: 'img', viewBox: `0 0 ${Math.ceil(size.width)} ${size.height}`,
    width: Math.ceil(size.width), height: size.height, 'aria-label': `Links, ${mapName()}`,
  }, ...curves, ...size.source.map((word, number) => linkLabel(one, size, 'source', word, number)),
  ...size.target.map((word, number) => linkLabel(one, size, 'target', word, number)));
}

function linksPart(one) {
  const box = make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Links' });
  const light = () => {
    const chosen = lit();
    box.classList.toggle('following', chosen !== null);
    for (const curve of box.querySelectorAll('.link')) {
      const end = chosen?.side === 'target' ? curve.dataset.row : curve.dataset.column;
      curve.classList.toggle('lit', chosen !== null && Number(end) === chosen.word);
    }
    for (const label of box.querySelectorAll('text')) {
      const isChosen = chosen?.side === label.dataset.side && Number(label.dataset.word) === chosen.word;
      label.classList.toggle('lit', isChosen);
    }
  };
  view.parts.push({ light, draw: () => box.replaceChildren(linksPicture(one, Math.min(360, innerWidth - 60))) });
  return box;
}
