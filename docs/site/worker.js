/* Search runs in a worker, and a page that is opened from disk may not start one. So it runs in a
   hidden frame, which looks like a worker to both sides. Over HTTP a real worker does it. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.ready = new Promise((done) => {
        const page = this.inside.document
        page.open()
        page.write("<!doctype html><body></body>")
        page.close()
        this.inside.postMessage = (data) => {
          this.dispatchEvent(new MessageEvent("message", { data }))
        }
        this.inside.importScripts = (...urls) =>
          urls.reduce(
            (before, one) => before.then(() => this.load(new URL(one, url).href)),
            Promise.resolve(),
          )
        this.load(url).then(done)
      })
    }

    load(url) {
      return new Promise((done) => {
        const script = this.inside.document.createElement("script")
        script.src = url
        script.onload = script.onerror = done
        this.inside.document.body.appendChild(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => {
        this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
      })
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
