/* ---- the report as JSON ---- */
document.getElementById("download").addEventListener("click", (event) => {
  const text = JSON.stringify(JSON.parse(document.getElementById("report").textContent), null, 2);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text + "\n"], { type: "application/json" }));
  link.download = event.currentTarget.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
