/// The page of the gallery.
enum GalleryPage {
    static let text = """
        <!DOCTYPE html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Gallery</title>
        <style>
            :root { color-scheme: light dark; --line: light-dark(#bbb, #555); --fail: light-dark(#a11, #f88) }
            body { font: 1rem/1.4 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 70rem }
            label { display: block; margin-bottom: .25rem }
            textarea { width: 100%; min-height: 6rem; box-sizing: border-box; font: .9rem monospace }
            button { font: inherit; padding: .5rem 1rem; margin-top: .5rem }
            :focus-visible { outline: 3px solid Highlight; outline-offset: 2px }
            #images { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(200px, 100%), 1fr)); gap: 1rem; margin-top: 1rem }
            figure { margin: 0; padding: .5rem; border: 1px solid var(--line); border-radius: .5rem; overflow-wrap: anywhere }
            img { display: block; max-width: 100%; max-height: 200px; margin: 0 auto }
            progress { width: 100% }
            figcaption { font-size: .85rem; margin-top: .25rem }
            .failure { color: var(--fail) }
        </style>
        <h1>Gallery</h1>
        <p>Each image is fetched by the server and shown as it comes. The first ones are the server's own.</p>
        <form id="form">
            <label for="urls">Images, a URL a line (Ctrl-Enter shows them)</label>
            <textarea id="urls" spellcheck="false" autocapitalize="off" placeholder="https://"></textarea>
            <button>Show</button>
        </form>
        <p id="status" role="status" aria-live="polite"></p>
        <div id="images"></div>
        <script>
            const form = document.getElementById("form")
            const field = document.getElementById("urls")
            const status = document.getElementById("status")
            let events
            const show = urls => {
                events?.close()
                const images = document.getElementById("images")
                const names = urls.map(url => url.split("/").pop() || url)
                const figures = urls.map((url, index) => {
                    const figure = document.createElement("figure")
                    const bar = figure.appendChild(document.createElement("progress"))
                    bar.max = 100
                    bar.setAttribute("aria-label", names[index])
                    figure.appendChild(document.createElement("figcaption")).textContent = names[index]
                    return figure
                })
                images.replaceChildren(...figures)
                const source = new EventSource("/events?" + urls.map(url => "url=" + encodeURIComponent(url)).join("&"))
                events = source
                const take = (event, use) => {
                    const space = event.data.indexOf(" ")
                    const index = event.data.slice(0, space)
                    use(figures[index], event.data.slice(space + 1), names[index])
                }
                let left = urls.length
                const tell = () => { status.textContent = left ? left + " of " + urls.length + " to come" : "Done." }
                const finish = (figure, node) => {
                    // The server repeats all events after a reconnection, so a finished figure is skipped.
                    if (!figure.querySelector("progress")) return
                    figure.querySelector("img")?.remove()
                    figure.firstChild.replaceWith(node)
                    left -= 1
                    tell()
                    // The stream is closed here, because the browser would reconnect otherwise.
                    if (left == 0) { source.close(); document.title = "Gallery: done" }
                }
                tell()
                source.addEventListener("progress", event => take(event, (figure, percent) => {
                    const bar = figure.querySelector("progress")
                    if (bar) bar.value = percent
                }))
                source.addEventListener("part", event => take(event, (figure, data, name) => {
                    if (!figure.querySelector("progress")) return
                    const image = figure.querySelector("img") ?? figure.appendChild(new Image())
                    image.alt = name + ", so far"
                    image.src = "data:image/png;base64," + data
                }))
                source.addEventListener("image", event => take(event, (figure, data, name) => {
                    const image = new Image()
                    image.alt = name
                    image.src = "data:image/jpeg;base64," + data
                    finish(figure, image)
                }))
                // If the response is not a stream, the browser closes the source. After a broken stream it requests the
                // stream again.
                source.onerror = () => {
                    if (source.readyState == EventSource.CLOSED) status.textContent = "The server has refused these images."
                }
                source.addEventListener("failure", event => take(event, (figure, reason) => {
                    const text = document.createElement("div")
                    text.className = "failure"
                    text.textContent = reason.slice(reason.indexOf(" ") + 1)
                    finish(figure, text)
                }))
            }
            const read = () => field.value.split("\\n").map(url => url.trim()).filter(url => url)
            form.addEventListener("submit", event => { event.preventDefault(); if (read().length) show(read()) })
            field.addEventListener("keydown", event => {
                if (event.key == "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit() }
            })
            // The images after # are shown at first, else those of the server.
            const decoded = text => { try { return decodeURIComponent(text) } catch { return text } }
            const named = decoded(location.hash.slice(1)).split(" ").filter(url => url)
            field.value = (named.length ? named : SAMPLES).join("\\n")
            show(read())
        </script>
        </html>
        """.replacing("SAMPLES", with: samples)

    /// The references of the samples as an array of JavaScript.
    private static var samples: String {
        "[" + GallerySamples.references.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    }
}
