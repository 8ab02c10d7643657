// Timeouts of promises and of work that is done in steps.

/** Returns an `isOver` that ends work after so many milliseconds. */
export function after(ms: number): () => boolean {
  const deadline = performance.now() + ms;
  return () => performance.now() >= deadline;
}

/** Settles like the promise, or like `late` if that takes longer than `ms`. */
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
