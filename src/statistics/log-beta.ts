// The logarithm of the beta function, for the sequences of rollouts.

/** By Stirling's series, after a shift to where its error is below 1e-15. `x` is above 0. */
function logGamma(x: number): number {
  let shift = 0, y = x;
  for (; y < 10; y++) shift += Math.log(y);
  const inverse = 1 / y, square = inverse * inverse;
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))));
  return (y - 0.5) * Math.log(y) - y + Math.log(2 * Math.PI) / 2 + series - shift;
}

/** ln B(a, b) of positive numbers. */
export const logBeta = (a: number, b: number): number => logGamma(a) + logGamma(b) - logGamma(a + b);

/** count · ln(share), which is 0 without a count even if the share is 0. */
export const logPower = (share: number, count: number): number => count === 0 ? 0 : count * Math.log(share);
