// Package blobs is where the files of jobs lie while they are between the user's file system and a site that does not see
// it: a store of objects, reached through gocloud.dev/blob. [Open] takes the URL of a bucket: s3://, gs://, azblob://, or
// file:// for a directory of this machine. Nodes of a site speak plain HTTP to it, with addresses that are signed for one
// object, one method and some time. A directory has no such server of its own: [Store.ServeHTTP] is it.
//
// This is the only package that links the SDKs of the clouds' stores; only cmd/fed imports it.
package blobs
