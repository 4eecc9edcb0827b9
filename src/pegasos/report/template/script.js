"use strict";
// Values under the pointer, and tables that sort. The page says the same without it.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  const axis = (text) => {
    const [low, high, kind, ...name] = text.split(" ");
    return { low: Number(low), high: Number(high), kind, name: name.join(" ") };
  };
  const value = (scale, place) => {
    if (scale.kind !== "log") return scale.low + place * (scale.high - scale.low);
    const low = Math.log10(scale.low);
    return 10 ** (low + place * (Math.log10(scale.high) - low));
  };
  const shown = (number) => String(Number(number.toPrecision(3)));

  const hide = (chart) => {
    tip.hidden = true;
    chart.querySelector(".mark")?.remove();
  };
  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 6);
    const top = event.clientY - height - 12;
    tip.style.left = Math.max(6, left) + "px";
    tip.style.top = (top < 6 ? event.clientY + 18 : top) + "px";
  };
  const nearest = (chart, x, y) => {
    let best = null;
    for (const line of chart.querySelectorAll("polyline[data-name]")) {
      for (const point of line.points) {
        const away = (point.x - x) ** 2 + 0.05 * (point.y - y) ** 2;
        if (!best || away < best.away) best = { x: point.x, y: point.y, away, name: line.dataset.name };
      }
    }
    return best;
  };
  const follow = (chart, event) => {
    const title = event.target.closest("rect, circle")?.querySelector("title");
    if (title) {
      hide(chart);
      show(title.textContent, event);
      return;
    }
    const seen = chart.getBoundingClientRect();
    const size = chart.viewBox.baseVal;
    const x = ((event.clientX - seen.left) / seen.width) * size.width;
    const y = ((event.clientY - seen.top) / seen.height) * size.height;
    const [left, top, width, height] = chart.dataset.box.split(" ").map(Number);
    const found = nearest(chart, x, y);
    if (!found || x < left - 6 || x > left + width + 6) {
      hide(chart);
      return;
    }
    const [across, up] = [axis(chart.dataset.x), axis(chart.dataset.y)];
    const at = value(across, (found.x - left) / width);
    const is = value(up, 1 - (found.y - top) / height);
    show(`${across.name} ${shown(at)}: ${found.name} ${shown(is)}`, event);
    let mark = chart.querySelector(".mark");
    if (!mark) {
      mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      mark.setAttribute("class", "mark");
      mark.setAttribute("r", "4");
      chart.append(mark);
    }
    mark.setAttribute("cx", found.x);
    mark.setAttribute("cy", found.y);
  };
  for (const chart of document.querySelectorAll("svg[data-chart]")) {
    chart.addEventListener("pointermove", (event) => follow(chart, event));
    chart.addEventListener("pointerdown", (event) => follow(chart, event));
    chart.addEventListener("pointerleave", () => hide(chart));
  }

  // In a notebook's frame such links would lead out of it.
  for (const link of location.protocol === "about:" ? document.querySelectorAll("nav a") : []) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.querySelector(link.getAttribute("href")).scrollIntoView();
    });
  }

  const number = (text) => {
    const plain = text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity");
    return Number.parseFloat(plain);
  };
  const sort = (table, column, head) => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.cells[column].textContent }));
    const words = head.classList.contains("text");
    rows.sort((a, b) => (words ? b.text.localeCompare(a.text) : number(b.text) - number(a.text)));
    table.tBodies[0].append(...(down ? rows : rows.reverse()).map((one) => one.row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column, head));
      head.append(button);
    });
  }
})();
