//go:build tools

// Package tools names the program that go.mod pins.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
