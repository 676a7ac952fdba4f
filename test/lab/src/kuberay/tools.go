//go:build tools

// Package tools keeps the operator, which build.sh builds straight from its module, in go.mod.
package tools

import _ "github.com/ray-project/kuberay/ray-operator"
