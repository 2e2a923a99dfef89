// Show claims in a dialog, hide verdicts until the reader has guessed, and filter the tiles.
(() => {
  const texts = JSON.parse(document.getElementById('data').textContent);
  const key = 'dragoman-claims-guesses';
  const tiles = [...document.querySelectorAll('.tile')];
  const dialog = document.querySelector('dialog');
  const guessing = document.getElementById('guessing');
  const filter = document.getElementById('filter');
  const sections = document.querySelector('.sections');
  let guesses = {};
  try {
    guesses = JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    // A page that is opened as a file may have no storage: guesses then last as long as the page.
  }
  document.documentElement.classList.add('scripted');
  document.querySelector('.controls').hidden = false;

  const isVeiled = tile => guessing.checked && !guesses[tile.dataset.id];

  function draw() {
    for (const tile of tiles) {
      const { id } = tile.dataset;
      tile.classList.toggle('veiled', isVeiled(tile));
      tile.hidden = filter.value !== '' && !(filter.value in tile.dataset);
      const section = document.getElementById(id);
      for (const answer of section.querySelectorAll('.answer')) answer.hidden = isVeiled(tile);
      section.querySelector('.vote').hidden = !isVeiled(tile);
    }
    document.body.classList.toggle('showing-undecided', filter.value === 'undecided');
    score();
  }

  function score() {
    const voted = tiles.filter(each => ['holds', 'fails'].includes(guesses[each.dataset.id]));
    const decided = voted.filter(each => !('undecided' in each.dataset));
    const right = decided.filter(each => guesses[each.dataset.id] === each.dataset.verdict).length;
    const written = decided.filter(each => each.dataset.guess === each.dataset.verdict).length;
    const values = { right, written, decided: decided.length, voted: voted.length, all: tiles.length };
    const text = guessing.checked ? (voted.length ? texts.score : texts['none-voted']) : '';
    document.getElementById('score').textContent = text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  function show(id) {
    const section = document.getElementById(id);
    const shown = document.getElementById('shown');
    if (shown.firstElementChild) sections.append(shown.firstElementChild);
    section.querySelector('h2').id = 'dialog-title';
    shown.replaceChildren(section);
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  dialog.addEventListener('close', () => {
    const shown = document.getElementById('shown');
    const section = shown.firstElementChild;
    section.querySelector('h2').removeAttribute('id');
    sections.append(section);
    document.querySelector(`.tile[data-id="${section.id}"] a`).focus();
  });
  dialog.addEventListener('click', event => {
    if (event.target === dialog) dialog.close();
  });
  for (const tile of tiles) {
    tile.querySelector('a').addEventListener('click', event => {
      event.preventDefault();
      show(tile.dataset.id);
    });
    for (const button of document.getElementById(tile.dataset.id).querySelectorAll('.vote button')) {
      button.addEventListener('click', () => {
        guesses[tile.dataset.id] = button.value;
        try {
          localStorage.setItem(key, JSON.stringify(guesses));
        } catch {
          // see above
        }
        draw();
      });
    }
  }
  guessing.addEventListener('change', draw);
  filter.addEventListener('change', draw);
  draw();
})();
