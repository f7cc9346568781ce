/* ---- numbers ---- */
const digits = (value) => {
  if (value === 0) return "0";
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: Math.min(places, 12) });
};
const seconds = (value) => {
  if (value == null) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return digits(value * 1e6) + " µs";
  if (size < 1) return digits(value * 1e3) + " ms";
  if (size < 600) return digits(value) + " s";
  return size < 7200 ? digits(value / 60) + " min" : digits(value / 3600) + " h";
};
const bytes = (value) => {
  if (value == null) return "–";
  for (const [unit, factor] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (Math.abs(value) >= factor) return digits(value / factor) + " " + unit;
  }
  return digits(value) + " B";
};
const whole = (value) => (value == null ? "–" : Math.round(value).toLocaleString("en"));
