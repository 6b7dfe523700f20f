# Tollgate in a container.
#
#   docker build -t tollgate .
#   docker run -d --name tollgate -p 127.0.0.1:6379:6379 -v tollgate-data:/data \
#       -e TOLLGATE_REQUIREPASS='a long secret' tollgate
#   docker exec tollgate tollgate cli RL.RESERVE rl:meta:123 80 80 30000
#
# A container is reached over its own network interface, so the server listens on all of them there. What protects it is
# the password: without one, protected mode answers loopback clients only, which inside a container means nobody but the
# health check. Give one in TOLLGATE_REQUIREPASS (the health check and `tollgate cli` read it there too; a password given
# as a flag they cannot know). Where the network itself is trusted: `docker run ... tollgate --protected-mode no`.
#
# TLS: mount the files, readable for uid 10001, and name them (TOLLGATE_TLS_PORT=6380, TOLLGATE_TLS_CERT_FILE,
# TOLLGATE_TLS_KEY_FILE, TOLLGATE_TLS_AUTH_CLIENTS=no). With TOLLGATE_PORT=0 beside it, which leaves TLS alone, give the health
# check a Unix socket to go through: TOLLGATE_UNIXSOCKET=/data/tollgate.sock. `docker kill -s HUP` has new files read.
#
# The page and metrics are on port 9121 (/, /metrics, /healthz, /readyz); they ask for the same password (HTTP Basic, user `default` or
# another who may run INFO). Add `-p 127.0.0.1:9121:9121` to see them from the host.
#
# State lives in /data, and is written there on SIGTERM: give it a volume, and `docker stop` time to finish
# (`--stop-timeout`, 10 s unless set). A bind-mounted directory must be writable for uid 10001.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY src src
# A member of the workspace, which is not built here.
COPY module module
# The caches keep downloaded and compiled crates from one build to the next, and are no part of the image.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --bin tollgate && \
    cp target/release/tollgate /tollgate

FROM debian:bookworm-slim
RUN groupadd --gid 10001 tollgate && \
    useradd --uid 10001 --gid tollgate --no-create-home --home-dir /data --shell /usr/sbin/nologin tollgate && \
    install --directory --owner=tollgate --group=tollgate --mode=0750 /data
COPY --from=build /tollgate /usr/local/bin/tollgate
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/tollgate/

# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
ENV TOLLGATE_BIND=0.0.0.0 TOLLGATE_METRICS_BIND=0.0.0.0:9121 TOLLGATE_DIR=/data
WORKDIR /data
VOLUME /data
EXPOSE 6379 9121
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["tollgate", "ping"]
# Exec form: the server is process 1 and gets the SIGTERM itself.
ENTRYPOINT ["tollgate"]
