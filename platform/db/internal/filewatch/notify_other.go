//go:build !linux

package filewatch

import "errors"

// notify reports that this system has no notification that is used here.
func notify(string) (<-chan struct{}, func(), error) { return nil, nil, errors.ErrUnsupported }
