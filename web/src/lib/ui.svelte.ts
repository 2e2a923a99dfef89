// How the page itself looks and speaks; kept by the browser.
import { chinese } from './chinese';
import { english, type Messages } from './english';

export const TONGUES = { en: 'English', zh: '简体中文' } as const;
const DARK = '(prefers-color-scheme: dark)';
export const THEMES = ['auto', 'light', 'dark'] as const;
export type Tongue = keyof typeof TONGUES;
export type Theme = (typeof THEMES)[number];

const MESSAGES: Record<Tongue, Messages> = { en: english, zh: chinese };
const TAGS: Record<Tongue, string> = { en: 'en', zh: 'zh-Hans' };

/** What the browser keeps; one that keeps nothing (it may be told to refuse) is no reason to fail. */
function kept(storage: () => Storage) {
  return {
    read(name: string): string | null {
      try {
        return storage().getItem(name);
      } catch {
        return null;
      }
    },
    write(name: string, value: string): void {
      try {
        storage().setItem(name, value);
      } catch {
        // It holds until the page is left.
      }
    },
  };
}

export const store = kept(() => localStorage);
/** Until the tab is closed. */
export const session = kept(() => sessionStorage);

class Ui {
  tongue: Tongue = $state(tongueOf(store.read('dragoman.tongue') ?? navigator.language));
  theme: Theme = $state(themeOf(store.read('dragoman.theme')));
  systemIsDark: boolean = $state(matchMedia(DARK).matches);

  constructor() {
    matchMedia(DARK).addEventListener('change', event => (this.systemIsDark = event.matches));
  }

  get isDark(): boolean {
    return this.theme === 'auto' ? this.systemIsDark : this.theme === 'dark';
  }

  get say(): Messages {
    return MESSAGES[this.tongue];
  }

  get tag(): string {
    return TAGS[this.tongue];
  }

  speak(tongue: Tongue): void {
    this.tongue = tongue;
    store.write('dragoman.tongue', tongue);
  }

  /** What the system has is followed again once it is chosen. */
  toggleDark(): void {
    const isDark = !this.isDark;
    this.theme = isDark === this.systemIsDark ? 'auto' : isDark ? 'dark' : 'light';
    store.write('dragoman.theme', this.theme);
  }

  number(value: number, digits = 0): string {
    return value.toLocaleString(this.tag, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  percent(share: number): string {
    return share.toLocaleString(this.tag, { style: 'percent' });
  }

  language(code: string): string {
    try {
      return new Intl.DisplayNames([this.tag], { type: 'language' }).of(code) ?? code;
    } catch {
      return code; // a pair of which no language is known has words of its own
    }
  }
}

function tongueOf(tag: string): Tongue {
  return tag.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

function themeOf(name: string | null): Theme {
  return THEMES.find(each => each === name) ?? 'auto';
}

export const ui = new Ui();
