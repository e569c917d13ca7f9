"""The statements by table, each as SQL above the function that runs it. A function runs one or two of them."""
