// A queue of asynchronous tasks.

/** Creates a function that runs each task once those before it have ended, whether or not they failed. */
export function createQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => {});
    return result;
  };
}
