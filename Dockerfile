# An image with the command line tool: `docker build -t curlew .`, then `docker run --rm curlew https://example.com/`.
# The stage `build` is also the devcontainer.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make git python3 \
    libcurl4-openssl-dev libssl-dev pkg-config zlib1g-dev libbrotli-dev libzstd-dev libpsl-dev libidn2-dev libsqlite3-dev libpq-dev postgresql iproute2 libpng-dev libjpeg62-turbo-dev libwebp-dev libgif-dev libtiff-dev libavif-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .

FROM build AS tool
RUN swift build -c release --package-path Examples --product curlew --static-swift-stdlib \
    && cp "$(swift build -c release --package-path Examples --static-swift-stdlib --show-bin-path)/curlew" /usr/local/bin/

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
    libcurl4 libssl3 zlib1g libbrotli1 libzstd1 libpsl5 libidn2-0 ca-certificates \
    libsqlite3-0 libpq5 libpng16-16 libjpeg62-turbo libwebp7 libwebpdemux2 libgif7 libtiff6 libavif15 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=tool /usr/local/bin/curlew /usr/local/bin/curlew
USER nobody
ENTRYPOINT ["curlew"]
