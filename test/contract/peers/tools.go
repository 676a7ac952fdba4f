//go:build tools

// Package tools keeps what build.sh builds straight from its module in go.mod.
package tools

import _ "github.com/aws/amazon-ec2-metadata-mock/cmd/ec2-metadata-mock"
