module github.com/whet-dev/whet

go 1.26.0

require golang.org/x/net v0.62.0

require github.com/yuin/goldmark v1.8.7

require github.com/google/go-cmp v0.7.0
