// Browser storage. A browser may refuse it: then reads return null and writes have no effect.

function safeStorage(storage: () => Storage) {
  return {
    read(key: string): string | null {
      try {
        return storage().getItem(key);
      } catch {
        return null;
      }
    },
    write(key: string, value: string): void {
      try {
        storage().setItem(key, value);
      } catch {
        // The value is lost when the page is closed.
      }
    },
  };
}

export const persistentStorage = safeStorage(() => localStorage);
/** Cleared when the tab is closed. */
export const tabStorage = safeStorage(() => sessionStorage);
