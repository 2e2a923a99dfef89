// Interface language: messages, numbers and names of languages.
import type { ApiError } from './api-error';
import { english, type Messages } from './messages/en';
import { chinese } from './messages/zh';
import { persistentStorage } from './storage';

export const INTERFACE_LANGUAGES = { en: 'English', zh: '简体中文' } as const;
export type InterfaceLanguage = keyof typeof INTERFACE_LANGUAGES;

const MESSAGES: Record<InterfaceLanguage, Messages> = { en: english, zh: chinese };
const LOCALES: Record<InterfaceLanguage, string> = { en: 'en', zh: 'zh-Hans' };
const STORAGE_KEY = 'dragoman.language';

class I18n {
  language: InterfaceLanguage = $state(interfaceLanguage(persistentStorage.read(STORAGE_KEY) ?? navigator.language));

  /** The messages of the page. */
  get t(): Messages {
    return MESSAGES[this.language];
  }

  get locale(): string {
    return LOCALES[this.language];
  }

  setLanguage(language: string): void {
    this.language = interfaceLanguage(language);
    persistentStorage.write(STORAGE_KEY, this.language);
  }

  /**
   * What an error means, and what the server says about it. The server writes English: in another language, its code is
   * explained instead.
   */
  explain(error: ApiError): { summary: string; detail: string } {
    const explained = error.code === null ? undefined : this.t.errorCodes[error.code];
    const summary = explained ?? this.t.errors[error.kind];
    return { summary, detail: this.language === 'en' && error.kind !== 'busy' ? error.message : '' };
  }

  number(value: number, digits = 0): string {
    return value.toLocaleString(this.locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  percent(share: number): string {
    return share.toLocaleString(this.locale, { style: 'percent' });
  }

  languageName(code: string): string {
    try {
      return new Intl.DisplayNames([this.locale], { type: 'language' }).of(code) ?? code;
    } catch {
      return code; // a server may use names that are not language tags
    }
  }
}

function interfaceLanguage(tag: string): InterfaceLanguage {
  return tag.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const i18n = new I18n();
