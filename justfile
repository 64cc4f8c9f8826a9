# Short names for commands.

# All checks and tests, interop included
test:
    ./test

# The quick tests: unit tests of every crate
unit:
    cargo test --workspace --exclude sharebench-tests

# Interop and end to end tests only
interop:
    tests/install-peers
    cargo test -p sharebench-tests

# Formatting, lints and the rules of xtask
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo xtask check

# Licences, advisories, sources
deny:
    cargo deny check

# Format everything
fmt:
    cargo fmt --all

# The demonstration
demo:
    cargo run --release -- demo

# The pictures of docs/pictures, from the real program
pictures:
    cargo build --release
    tests/install-peers
    node docs/pictures/make.mjs

# The documents as a site with search: target/site/index.html
site:
    docs/build-site
