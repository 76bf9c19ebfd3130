// Before anything is painted: the choice of light or dark that was made here before.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* no storage: as the system has it */ }
