/// The page of the gallery.
enum GalleryPage {
    static let text = """
        <!DOCTYPE html>
        <meta charset="utf-8">
        <title>Gallery</title>
        <style>
            body { font-family: sans-serif; margin: 2rem }
            textarea { width: 100%; height: 6rem }
            #images { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem }
            figure { width: 200px; margin: 0 }
            img { max-width: 200px; max-height: 200px }
            progress { width: 100% }
        </style>
        <h1>Gallery</h1>
        <textarea id="urls" placeholder="URLs of images, a line each"></textarea>
        <button id="show">Show</button>
        <div id="images"></div>
        <script>
            const show = urls => {
                const images = document.getElementById("images")
                const figures = urls.map(url => {
                    const figure = document.createElement("figure")
                    const bar = figure.appendChild(document.createElement("progress"))
                    bar.max = 100
                    const caption = figure.appendChild(document.createElement("figcaption"))
                    caption.textContent = url.split("/").pop()
                    return figure
                })
                images.replaceChildren(...figures)
                const query = urls.map(url => "url=" + encodeURIComponent(url)).join("&")
                const events = new EventSource("/events?" + query)
                const take = (event, use) => {
                    const space = event.data.indexOf(" ")
                    use(figures[event.data.slice(0, space)], event.data.slice(space + 1))
                }
                let left = urls.length
                const finish = (figure, node) => {
                    // The server repeats all events after a reconnection, so a finished figure is skipped.
                    if (!figure.querySelector("progress")) return
                    figure.querySelector("img")?.remove()
                    figure.firstChild.replaceWith(node)
                    // The stream is closed here, because the browser would reconnect otherwise.
                    if (--left == 0) { events.close(); document.title = "Gallery: done" }
                }
                events.addEventListener("progress", event => take(event, (figure, percent) => {
                    const bar = figure.querySelector("progress")
                    if (bar) bar.value = percent
                }))
                events.addEventListener("part", event => take(event, (figure, data) => {
                    if (!figure.querySelector("progress")) return
                    const image = figure.querySelector("img") ?? figure.appendChild(new Image())
                    image.src = "data:image/png;base64," + data
                }))
                events.addEventListener("image", event => take(event, (figure, data) => {
                    const image = new Image()
                    image.src = "data:image/jpeg;base64," + data
                    finish(figure, image)
                }))
                // If the response is not a stream, the browser closes the source. After a broken stream it requests the
                // stream again.
                events.onerror = () => {
                    if (events.readyState == EventSource.CLOSED) images.textContent = "The server has refused these images."
                }
                events.addEventListener("failure", event => take(event, (figure, code) => {
                    finish(figure, document.createTextNode(code))
                }))
            }
            const read = () => document.getElementById("urls").value.split("\\n").map(url => url.trim()).filter(url => url)
            document.getElementById("show").onclick = () => { if (read().length) show(read()) }
            // A page with image URLs after # loads them at once.
            const named = decodeURIComponent(location.hash.slice(1)).split(" ").filter(url => url)
            if (named.length) { document.getElementById("urls").value = named.join("\\n"); show(named) }
        </script>
        """
}
