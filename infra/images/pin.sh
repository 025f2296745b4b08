#!/bin/sh
# Asks the registry for the digest of each base image and writes them all to infra/images/digests.env, from which
# Compose and `docker build` take them. Run it to begin with, and again to take what the bases have mended since.
# Needs docker with buildx. Nothing is written unless every digest was had.
set -eu
cd "$(dirname "$0")"
new=$(mktemp ./digests.XXXXXX)
trap 'rm -f "$new"' EXIT
while read -r name image; do
    digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
    case $digest in
        sha256:*[!0-9a-f]* | sha256:) digest= ;;
        sha256:*) [ ${#digest} = 71 ] || digest= ;;
        *) digest= ;;
    esac
    [ -n "$digest" ] || { echo "No digest was given for $image." >&2; exit 1; }
    echo "# $image" >>"$new"
    echo "$name=$digest" >>"$new"
done <<'IMAGES'
DEBIAN_DIGEST debian:bookworm-slim
POSTGRES_DIGEST postgres:17
REDIS_DIGEST redis:8
CADDY_DIGEST caddy:2
IMAGES
mv "$new" digests.env
chmod 644 digests.env
trap - EXIT
