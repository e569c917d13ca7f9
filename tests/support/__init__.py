"""What tests of several chapters share: stores, threads, servers, processes, and the data of other projects."""
