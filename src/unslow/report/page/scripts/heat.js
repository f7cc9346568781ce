/* ---- heat map: workers by time ---- */
class Heat {
  constructor(canvas, heat) {
    this.canvas = canvas;
    this.heat = heat;
    this.output = canvas.parentElement.querySelector("output");
    this.at = null;
    canvas.addEventListener("mousemove", (event) => this.over(event));
    canvas.addEventListener("mouseleave", () => { this.output.textContent = ""; });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.rebuild();
    new ResizeObserver(() => { if (Math.abs(this.width() - this.drawn) > 1) this.rebuild(); }).observe(canvas.parentElement);
  }
  width() { return printing ? 620 : this.canvas.parentElement.clientWidth || 600; }
  rebuild() {
    const { labels, wait_share: rows, last } = this.heat;
    const ratio = devicePixelRatio, width = this.drawn = this.width();
    const high = this.high = labels.length > 24 ? 12 : 20, foot = 20;
    const { canvas } = this, ctx = canvas.getContext("2d");
    canvas.width = width * ratio;
    canvas.height = (labels.length * high + foot) * ratio;
    canvas.style.height = labels.length * high + foot + "px";
    ctx.scale(ratio, ratio);
    ctx.font = `${high > 14 ? 12 : 10}px system-ui, sans-serif`;
    this.left = Math.min(width / 3, 8 + Math.max(...labels.map((label) => ctx.measureText(label).width)));
    const wide = this.wide = (width - this.left) / rows[0].length;
    ctx.textBaseline = "middle";
    labels.forEach((label, row) => {
      const top = row * high;
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour("ink");
      ctx.fillText(label, 0, top + high / 2, this.left - 6);
      rows[row].forEach((share, column) => {
        const left = this.left + column * wide;
        ctx.globalAlpha = share == null ? 1 : Math.min(1, Math.max(0, share) / .8);
        ctx.fillStyle = colour(share == null ? "shade" : "sync");
        ctx.fillRect(left, top, Math.ceil(wide), high - 1);
      });
    });
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour("bad");
    last.forEach((row, column) => {
      if (row == null) return;
      ctx.beginPath();
      ctx.arc(this.left + (column + .5) * wide, (row + .5) * high, Math.min(3, wide / 2.5), 0, 7);
      ctx.fill();
    });
    const ends = this.heat.until_seconds;
    ctx.fillStyle = colour("soft");
    ctx.fillText("0", this.left, labels.length * high + foot / 2);
    ctx.textAlign = "right";
    ctx.fillText(seconds(ends[ends.length - 1]), width - 2, labels.length * high + foot / 2);
    ctx.textAlign = "left";
  }
  tell(row, column) {
    const { labels, wait_share: rows, until_seconds: ends, until_step: steps, last } = this.heat;
    if (row < 0 || row >= labels.length || column < 0 || column >= ends.length) return;
    this.at = [row, column];
    const share = rows[row][column], who = last[column];
    const waits = share == null ? "no step" : `waits ${digits(share * 100)}% of its steps`;
    this.output.textContent = `${labels[row]}, up to step ${whole(steps[column])} (${seconds(ends[column])}): ${waits}` +
      (who == null ? "" : `; last: ${labels[who]}`);
  }
  over(event) {
    const box = this.canvas.getBoundingClientRect();
    this.tell(Math.floor((event.clientY - box.top) / this.high), Math.floor((event.clientX - box.left - this.left) / this.wide));
  }
  key(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [row, column] = this.at || [0, -1];
    this.tell(row + move[0], column + move[1]);
  }
}
const heatCanvas = document.getElementById("heat");
if (heatCanvas) charts.push(new Heat(heatCanvas, data.heat));
