// A request body that arrives in two parts, the second when a test says so.

/** A body of which the first part has come: `taken` resolves when that was read, and more is waited for. */
export function heldBody(text: string, firstLength = text.length - 1) {
  const bytes = new TextEncoder().encode(text);
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let takes = 0;
  let isTaken = () => {};
  const taken = new Promise<void>((resolve) => isTaken = resolve);
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull() {
      if (takes++ === 0) controller.enqueue(bytes.slice(0, firstLength));
      else isTaken();
    },
  }, { highWaterMark: 0 });
  const finish = () => {
    controller.enqueue(bytes.slice(firstLength));
    controller.close();
  };
  return { stream, taken, finish };
}
