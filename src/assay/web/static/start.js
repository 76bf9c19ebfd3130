// Shows the output of a running step as it comes.
"use strict";
if (document.getElementById("running")) setTimeout(() => location.reload(), 1500);
