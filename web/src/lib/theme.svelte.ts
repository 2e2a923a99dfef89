// Light or dark theme: follows the system until the user selects the other one.
import { persistentStorage } from './storage';

const DARK_QUERY = '(prefers-color-scheme: dark)';
const STORAGE_KEY = 'dragoman.theme';
const THEMES = ['auto', 'light', 'dark'] as const;
type ThemeName = (typeof THEMES)[number];

class Theme {
  #selected: ThemeName = $state(themeName(persistentStorage.read(STORAGE_KEY)));
  #isSystemDark: boolean = $state(matchMedia(DARK_QUERY).matches);

  constructor() {
    matchMedia(DARK_QUERY).addEventListener('change', event => (this.#isSystemDark = event.matches));
  }

  get isDark(): boolean {
    return this.#selected === 'auto' ? this.#isSystemDark : this.#selected === 'dark';
  }

  /** Switch to the other theme; the theme of the system is stored as `auto`. */
  toggle(): void {
    const isDark = !this.isDark;
    if (isDark === this.#isSystemDark) this.#selected = 'auto';
    else this.#selected = isDark ? 'dark' : 'light';
    persistentStorage.write(STORAGE_KEY, this.#selected);
  }
}

function themeName(name: string | null): ThemeName {
  return THEMES.find(each => each === name) ?? 'auto';
}

export const theme = new Theme();
