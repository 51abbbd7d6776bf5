// Package archive writes the bundle of the whole chain as a zip in the layout of C2SP tlog-tiles, for tools that know
// nothing of this product. VERIFY.txt in it says which, and how to run them.
//
// Its boundary: it knows the layout of the zip and no store; it is given leaves in their order.
package archive
