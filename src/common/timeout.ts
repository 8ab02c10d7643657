// Waiting for something, but not for ever.

/** What a promise gives, or what `late` gives or throws if that takes longer than so many ms. */
export function withTimeout<T>(ms: number, promise: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
